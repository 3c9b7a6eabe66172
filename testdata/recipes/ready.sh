# Print the environment and its readiness. Takes BASE from the environment; needs no key.
set -eu

curl -sS --fail --max-time 30 --retry 4 "$BASE/v1"

curl -sS --fail --max-time 30 --retry 4 "$BASE/v1/environment"
