// Package seal encrypts what a store must not keep in the clear, under keys derived from the operator's secrets.
package seal

import "io"

// Box seals and opens. The first secret seals, all open.
type Box struct{}

// New derives a box from the operator's secrets, of at least 32 bytes each.
func New(secrets [][]byte, rand io.Reader) (*Box, error) { panic("todo") }

// Fingerprints identify the secrets, in their order, without telling anything of them.
func (b *Box) Fingerprints() []string { panic("todo") }

// Seal encrypts plain for the named place (such as "webhook/KOWHAI"); it opens only there.
func (b *Box) Seal(plain []byte, place string) ([]byte, error) { panic("todo") }

// Open decrypts what Seal returned.
func (b *Box) Open(sealed []byte, place string) ([]byte, error) { panic("todo") }
