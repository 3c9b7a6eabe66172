package pdf_test

import (
	"bytes"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// A document says of itself what it states, and by whom it is signed.
func TestASignedDocumentHasItsFacts(t *testing.T) {
	a := sample.Agreement(52)
	got, under, err := pdf.Verify(printed(t, a))
	if err != nil || !reflect.DeepEqual(got, a) {
		t.Fatalf("Verify = %+v, %v; want %+v", got, err, a)
	}
	other, err := pdf.Derived(bytes.Repeat([]byte{1}, 32), "Kōwhai Lending")
	if err != nil || !signer(t).Knows(under) || other.Knows(under) {
		t.Errorf("it is signed under %s, %v", under.Subject, err)
	}
}

// Whatever is changed in a document, appended to it or cut off, is noticed.
func TestAChangedDocumentIsNotVerified(t *testing.T) {
	document := printed(t, sample.Agreement(4))
	for at := 0; at < len(document); at += 1 + at%97 {
		changed := bytes.Clone(document)
		changed[at] ^= 1
		if _, _, err := pdf.Verify(changed); err == nil {
			t.Errorf("with another byte at %d, near %q, it is verified", at, document[max(0, at-20):at+1])
		}
	}
	for name, changed := range map[string][]byte{"appended": append(bytes.Clone(document), "\n%%EOF\n"...),
		"cut off": document[:len(document)-1], "twice": append(bytes.Clone(document), document...)} {
		if _, _, err := pdf.Verify(changed); !errors.Is(err, pdf.ErrChanged) {
			t.Errorf("%s: %v, want ErrChanged", name, err)
		}
	}
	if _, _, err := pdf.Verify([]byte("%PDF-1.7\n")); !errors.Is(err, pdf.ErrUnsigned) {
		t.Errorf("without a signature: %v", err)
	}
}

// Other programs say that the document is signed, whole and unchanged, whatever its script.
func TestOtherReadersVerifyTheSignature(t *testing.T) {
	testlevel.Full(t)
	path := filepath.Join(t.TempDir(), "agreement.pdf")
	document := printed(t, sample.Agreement(52))
	verified := func(document []byte) string {
		if err := os.WriteFile(path, document, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("pdfsig", "-nocert", path).CombinedOutput()
		if err != nil {
			return string(out) + err.Error()
		}
		return string(out)
	}
	says := verified(document)
	for _, want := range []string{"Signature is Valid", "Total document signed", "ETSI.CAdES.detached", "Kōwhai Lending"} {
		if !strings.Contains(says, want) {
			t.Errorf("pdfsig says\n%s\nwant %q", says, want)
		}
	}
	for i, given := range []string{"Māia", "Nguyễn", "李小龙", "महेश", "محمد", "Қазақ", "សុខា", "ნინო"} {
		a := sample.Agreement(1 + i)
		a.Student.FirstName = given
		if says := verified(printed(t, a)); !strings.Contains(says, "Signature is Valid") || !strings.Contains(says, "Total document signed") {
			t.Errorf("%s: pdfsig says\n%s", given, says)
		}
	}
	changed := bytes.Clone(document)
	changed[100] ^= 1
	if says := verified(changed); strings.Contains(says, "Signature is Valid") {
		t.Errorf("of a changed document pdfsig says\n%s", says)
	}
	if says := verified(append(bytes.Clone(document), "\n% more\n"...)); strings.Contains(says, "Total document signed") {
		t.Errorf("of a longer document pdfsig says\n%s", says)
	}
}

// OpenSSL says the same of what the document holds.
func TestOpenSSLVerifiesTheSignature(t *testing.T) {
	testlevel.Full(t)
	folder, document := t.TempDir(), printed(t, sample.Agreement(4))
	at := bytes.Index(document, []byte("/Contents <")) + len("/Contents ")
	end := at + bytes.IndexByte(document[at:], '>') + 1
	der, err := hex.DecodeString(string(document[at+1 : end-1]))
	if err != nil {
		t.Fatal(err)
	}
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signer(t).Certificate().Raw})
	signed := slices.Concat(document[:at], document[end:])
	changed := bytes.Clone(signed)
	changed[100] ^= 1
	for name, text := range map[string][]byte{"own.pem": own, "signature.der": der, "signed": signed, "changed": changed} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for content, valid := range map[string]bool{"signed": true, "changed": false} {
		cmd := exec.Command("openssl", "cms", "-verify", "-binary", "-cades", "-inform", "DER", "-in", "signature.der", "-content", content,
			"-CAfile", "own.pem", "-purpose", "any", "-out", os.DevNull)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); (err == nil) != valid {
			t.Errorf("of what is %s OpenSSL says %v\n%s", content, err, out)
		}
	}
}
