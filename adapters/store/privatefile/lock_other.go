//go:build !unix

package witness

import (
	"errors"
	"os"
)

func lock(*os.File) error { return errors.ErrUnsupported }
