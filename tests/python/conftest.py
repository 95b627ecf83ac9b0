"""TOMBOLA_BUILD names the build whose library and command are tested (default: build/release); of tombola_learn nothing is
built."""

import os
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TOMBOLA_BUILD", SOURCE / "build/release"))

sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "accountant/python"))
sys.path.insert(0, str(SOURCE / "deploy/learn"))
os.environ["TOMBOLA_ACCOUNTANT_LIBRARY"] = str(BUILD / "lib/libtombola-accountant.so.0")
