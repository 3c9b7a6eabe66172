// Package timestamp asks a time-stamp authority (RFC 3161) to say that bytes existed at a time. What it says is kept as it
// came, and can be checked for years with the tools of others:
//
//	openssl ts -verify -data checkpoint -in checkpoint.tsr -CAfile authority.pem
package timestamp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"time"
)

const (
	timeout   = 20 * time.Second
	maxAnswer = 64 << 10
	nonceSize = 16
)

// Authority is a time-stamp authority over HTTP.
type Authority struct {
	url    string
	client *http.Client
	rand   io.Reader
}

// New returns the authority at a URL.
func New(address string, rand io.Reader) (*Authority, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" { // the answer is signed: most authorities use http
		return nil, fmt.Errorf("%q is no address of a time-stamp authority: it must be http or https", address)
	}
	return &Authority{url: address, rand: rand, client: &http.Client{Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// The parts of RFC 3161, sections 2.4.1 and 2.4.2, that a client needs.
type (
	request struct {
		Version int
		Imprint imprint
		Nonce   *big.Int
		CertReq bool
	}
	imprint struct {
		Algorithm algorithm
		Hash      []byte
	}
	algorithm struct {
		OID        asn1.ObjectIdentifier
		Parameters asn1.RawValue
	}
	response struct {
		Status statusInfo
		Token  asn1.RawValue `asn1:"optional"`
	}
	statusInfo struct {
		Status int
		Text   asn1.RawValue  `asn1:"optional"`
		Fault  asn1.BitString `asn1:"optional"`
	}
)

var oidSHA256 = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}

// Stamp returns the authority's answer about data, in DER: it grants a token for the SHA-256 of data and for this request.
// Its signature is not checked here.
func (a *Authority) Stamp(ctx context.Context, data []byte) (answer []byte, err error) {
	nonce := make([]byte, nonceSize)
	if _, err := io.ReadFull(a.rand, nonce); err != nil {
		return nil, fmt.Errorf("generate a nonce: %w", err)
	}
	nonce[0] = nonce[0]&0x3f | 0x40 // positive, and of full length
	hash := sha256.Sum256(data)
	question, err := asn1.Marshal(request{Version: 1, Nonce: new(big.Int).SetBytes(nonce), CertReq: true,
		Imprint: imprint{algorithm{oidSHA256, asn1.NullRawValue}, hash[:]}})
	if err != nil {
		return nil, fmt.Errorf("make a request for a time stamp: %w", err)
	}
	if answer, err = a.post(ctx, question); err != nil {
		return nil, fmt.Errorf("ask for a time stamp: %w", err)
	}
	return answer, check(answer, hash[:], nonce)
}

func (a *Authority) post(ctx context.Context, question []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/timestamp-query")
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the authority answered %d", resp.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		err = errors.New("the answer is too long")
	}
	return answer, err
}

// check returns an error unless the answer grants a token, in which the hash and the nonce are.
func check(answer, hash, nonce []byte) error {
	var r response
	rest, err := asn1.Unmarshal(answer, &r)
	switch {
	case err != nil || len(rest) > 0:
		return errors.New("the authority's answer is no time stamp")
	case r.Status.Status != 0 && r.Status.Status != 1: // granted, or granted with modifications
		return fmt.Errorf("the authority refuses, with status %d", r.Status.Status)
	case !bytes.Contains(r.Token.FullBytes, hash), !bytes.Contains(r.Token.FullBytes, nonce):
		return errors.New("the authority's answer is to another request")
	}
	return nil
}
