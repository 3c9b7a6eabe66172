//go:build !linux

package storage_test

import "errors"

func mount(string, string) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }
