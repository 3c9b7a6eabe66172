# Have an event sent again. Takes BASE, KEY and EVENT from the environment.
set -e

curl -sS --fail -X POST "$BASE/v1/events/$EVENT/redeliver" -H "Authorization: Bearer $KEY"
