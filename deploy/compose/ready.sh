#!/bin/bash
# ready.sh ADDRESS PORT - succeed when the daemon whose `http` is there takes reports.
exec 3<>"/dev/tcp/$1/$2" && printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3 && read -r _ code _ <&3 && [ "$code" = 200 ]
