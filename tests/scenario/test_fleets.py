"""doc/fleets.md: its commands, typed one after the other, print what it shows."""
import pytest

import cluster as c
import documents


@pytest.mark.heavy
def test_every_command_prints_what_the_page_shows(tmp_path):
    port = c.free_port()

    def alter(name, text):
        """Another port than the page's, which another test may have; windows in which a busy machine seals 700 reports."""
        text = text.replace("7443", str(port)).replace('window = "3s"', 'window = "8s"')
        return text + 'http = ""\n' if "state_dir" in text else text

    reader = documents.Reader(tmp_path, alter=alter)
    try:
        for command, shown in documents.examples(documents.read("doc/fleets.md")):
            code, printed = reader.types(command, shown)
            assert code == 0, (command, code, printed)
            wrong = documents.differs(shown, printed)
            assert wrong is None, f"$ {command}\n{printed}\n\nis shown otherwise: {wrong}"
    finally:
        reader.close()
