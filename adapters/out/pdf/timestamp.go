package pdf

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"time"
)

// Identifiers of a time-stamp (RFC 3161).
var (
	oidTimestamp = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14}
	oidTSTInfo   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
)

const (
	stampTimeout = 2 * time.Second
	// stampRoom is the size in bytes of the largest time-stamp that is taken.
	stampRoom = 12 << 10
)

// Stamper asks an authority for time-stamps of signatures: they prove to others that a document is no newer.
type Stamper struct {
	URL    string // of the authority
	Client *http.Client
	Count  func(stamped bool) // called with each; may be nil
}

type stampRequest struct {
	Version      int
	Imprint      imprint
	Nonce        *big.Int
	Certificates bool
}

type imprint struct {
	Algorithm pkix.AlgorithmIdentifier
	Hash      []byte
}

type stampResponse struct {
	Status struct {
		Status int
		Rest   asn1.RawValue `asn1:"optional"`
		More   asn1.RawValue `asn1:"optional"`
	}
	Token asn1.RawValue `asn1:"optional"`
}

// stamped is a token, as far as it is read.
type stamped struct {
	Type    asn1.ObjectIdentifier
	Content struct {
		Version    int
		Algorithms asn1.RawValue
		Info       struct {
			Type    asn1.ObjectIdentifier
			Content []byte `asn1:"explicit,tag:0"`
		}
	} `asn1:"explicit,tag:0"`
}

type stampInfo struct {
	Version int
	Policy  asn1.ObjectIdentifier
	Imprint imprint
}

// add adds a time-stamp to a signature, if there is one within two seconds.
func (s *Stamper) add(ctx context.Context, by *signerInfo) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stampTimeout)
	defer cancel()
	token, err := s.stamp(ctx, by.Signature)
	if err == nil {
		by.Unsigned = []attribute{{oidTimestamp, []asn1.RawValue{{FullBytes: token}}}}
	}
	if s.Count != nil {
		s.Count(err == nil)
	}
}

func (s *Stamper) stamp(ctx context.Context, text []byte) ([]byte, error) {
	nonce := make([]byte, 8)
	_, _ = rand.Read(nonce) // it never fails
	sum := sha256.Sum256(text)
	body := must(asn1.Marshal(stampRequest{1, imprint{pkix.AlgorithmIdentifier{Algorithm: oidSHA256}, sum[:]}, new(big.Int).SetBytes(nonce), true}))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/timestamp-query")
	answer, err := s.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(answer.Body, stampRoom))
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the authority answers %d: %w", answer.StatusCode, err)
	}
	var response stampResponse
	if _, err := asn1.Unmarshal(reply, &response); err != nil {
		return nil, err
	}
	var token stamped
	var info stampInfo
	if response.Status.Status > 1 {
		return nil, fmt.Errorf("the authority answers with the status %d", response.Status.Status)
	}
	if _, err = asn1.Unmarshal(response.Token.FullBytes, &token); err == nil {
		_, err = asn1.Unmarshal(token.Content.Info.Content, &info)
	}
	if err == nil && (!token.Content.Info.Type.Equal(oidTSTInfo) || !bytes.Equal(info.Imprint.Hash, sum[:])) {
		err = errors.New("it is of another signature")
	}
	return response.Token.FullBytes, err
}
