//go:build !linux

package full_test

import "errors"

func mount(string, string) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }
