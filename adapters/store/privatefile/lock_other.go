//go:build !unix

package privatefile

import (
	"errors"
	"os"
)

// Lock returns errors.ErrUnsupported.
func Lock(*os.File) error { return errors.ErrUnsupported }
