# List the enrolments that changed behind a cursor. Takes BASE, KEY and CURSOR from the environment.
set -e

curl -sS --fail "$BASE/v1/enrolments?after=$CURSOR" -H "Authorization: Bearer $KEY"
