# Ask a service what it is, and whether it is ready. Takes BASE from the environment; needs no key.
set -e

curl -sS --fail "$BASE/v1"

curl -sS --fail "$BASE/v1/environment"
