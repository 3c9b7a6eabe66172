// Package recipes has the example programs for a provider's engineers. The reference at /docs shows their texts, and the tests
// run them.
package recipes

import "embed"

// Files has every recipe by its file name.
//
//go:embed *.sh *.mjs *.py *.php
var Files embed.FS
