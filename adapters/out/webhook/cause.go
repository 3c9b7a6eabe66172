package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
)

// cause returns why an attempt got no answer, without any text from the receiver: package net/http
// quotes malformed answers in its errors, and crypto/x509 the receiver's certificate.
func cause(ctx context.Context, err error) error {
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &certificate):
		return certificateFault(certificate.Err)
	case errors.As(err, &network):
		return network // a name that is not found, a refused address, a refused or reset connection
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("connection was closed without an answer")
	}
	return errors.New("answer is not proper HTTP, or not proper TLS")
}

// certificateFault returns what is wrong with a receiver's certificate.
func certificateFault(err error) error {
	var host x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &host):
		return errors.New("certificate is for another host")
	case errors.As(err, &authority):
		return errors.New("certificate is signed by an unknown authority")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("certificate has expired or is not valid yet")
	}
	return errors.New("certificate is not valid")
}
