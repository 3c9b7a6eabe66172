package salesforcetest_test

import (
	"bytes"
	"encoding/base64"
	"mime/multipart"
	"net/textproto"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
)

// file is a body for a version of content.
func file(content, more string) string {
	return `{"Title":"Agreement","PathOnClient":"agreement.pdf","VersionData":"` + base64.StdEncoding.EncodeToString([]byte(content)) + `"` + more + `}`
}

func TestAFileBecomesADocumentThatIsLinked(t *testing.T) {
	b := newBench(t)
	agreement := b.create("Payment_Plan_Agreement__c", `{"Agreement_Number__c":"PPA-1"}`)
	id := b.create("ContentVersion", file("%PDF-1.7", `,"FirstPublishLocationId":"`+agreement+`","PDF_SHA256__c":"ab"`))
	got := b.OK(200, "GET", "sobjects/ContentVersion/"+id, "")
	document := got.Text("ContentDocumentId")
	for path, want := range map[string]any{"Title": "Agreement", "FileExtension": "pdf", "FileType": "PDF", "ContentSize": 8.0,
		"IsLatest": true, "VersionNumber": "1",
		"VersionData": data + "sobjects/ContentVersion/" + id + "/VersionData"} {
		if at := got.At(path); at != want {
			t.Errorf("%s = %v, want %v", path, at, want)
		}
	}
	content := b.OK(200, "GET", got.Text("VersionData"), "")
	if string(content.Raw) != "%PDF-1.7" || content.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("content = %q %v", content.Raw, content.Header)
	}
	got = b.OK(200, "GET", "sobjects/ContentDocument/"+document, "")
	if got.Text("LatestPublishedVersionId") != id || !strings.HasPrefix(document, "069") {
		t.Errorf("document = %s", got.Raw)
	}
	links := b.rows("SELECT ShareType, ContentDocumentId FROM ContentDocumentLink WHERE LinkedEntityId = '" + agreement + "'")
	if len(links) != 1 || (simtest.Reply{Body: links[0]}).Text("ShareType") != "V" || (simtest.Reply{Body: links[0]}).Text("ContentDocumentId") != document {
		t.Errorf("links = %v, want one for viewers", links)
	}
	b.refused(400, "DUPLICATE_VALUE", "POST", "sobjects/ContentVersion", file("%PDF-1.7", `,"PDF_SHA256__c":"AB"`))
	b.refused(404, "NOT_FOUND", "PATCH", "sobjects/ContentVersion/PDF_SHA256__c/ab", `{}`) // it is no external id
	if got := b.sim.Statistics().Records; got["ContentVersion"] != 1 || got["ContentDocument"] != 1 || got["ContentDocumentLink"] != 1 {
		t.Errorf("%v, want nothing of the file that was refused", got)
	}
}

func TestAFileIsChecked(t *testing.T) {
	b := newBench(t)
	b.refused(400, "REQUIRED_FIELD_MISSING", "POST", "sobjects/ContentVersion", `{"PathOnClient":"a.pdf"}`)
	b.refused(400, "REQUIRED_FIELD_MISSING", "POST", "sobjects/ContentVersion", `{"VersionData":"AAAA"}`)
	b.refused(400, "JSON_PARSER_ERROR", "POST", "sobjects/ContentVersion", `{"PathOnClient":"a.pdf","VersionData":"%"}`)
	b.refused(400, "INVALID_CROSS_REFERENCE_KEY", "POST", "sobjects/ContentVersion", file("x", `,"FirstPublishLocationId":"a01000000000000AAA"`))
	id := b.create("ContentVersion", file("x", ""))
	b.refused(400, "INVALID_FIELD_FOR_INSERT_UPDATE", "PATCH", "sobjects/ContentVersion/"+id, `{"VersionData":"AAAA"}`)
	b.refused(404, "NOT_FOUND", "GET", "sobjects/ContentVersion/"+id+"/Title", "")
}

// form sends parts, each a name, a file's name, a media type and content, as a form.
func (b *bench) form(parts ...[4]string) simtest.Reply {
	b.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, p := range parts {
		h := textproto.MIMEHeader{"Content-Type": {p[2]}, "Content-Disposition": {`form-data; name="` + p[0] + `"`}}
		if p[1] != "" {
			h.Set("Content-Disposition", h.Get("Content-Disposition")+`; filename="`+p[1]+`"`)
		}
		part, err := w.CreatePart(h)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := part.Write([]byte(p[3])); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return b.Call("POST", "sobjects/ContentVersion", body.String(), with("Content-Type", w.FormDataContentType()))
}

func TestAFileMayComeAsAForm(t *testing.T) {
	b := newBench(t)
	entity := [4]string{"entity_content", "", "application/json", `{"PathOnClient":"a.pdf"}`}
	bytes := [4]string{"VersionData", "a.pdf", "application/pdf", "\x00\xff%PDF"}
	for name, parts := range map[string][][4]string{"JSON first": {entity, bytes}, "file first": {bytes, entity}} {
		got := b.form(parts...)
		if got.Status != 201 {
			t.Errorf("%s: %d %s", name, got.Status, got.Raw)
			continue
		}
		content := b.OK(200, "GET", "sobjects/ContentVersion/"+got.Text("id")+"/VersionData", "")
		if string(content.Raw) != "\x00\xff%PDF" {
			t.Errorf("%s: content = %q", name, content.Raw)
		}
	}
	for name, parts := range map[string][][4]string{
		"no JSON":          {bytes},
		"JSON twice":       {entity, entity},
		"no file":          {entity},
		"no file name":     {entity, {"VersionData", "", "text/plain", "x"}},
		"an unknown field": {entity, {"Nothing", "a.pdf", "text/plain", "x"}},
		"torn JSON":        {{"e", "", "application/json", "{"}, bytes},
		"many parts":       {entity, bytes, {"a", "a", "a", ""}, {"b", "b", "a", ""}, {"c", "c", "a", ""}},
	} {
		if got := b.form(parts...); got.Status != 400 {
			t.Errorf("%s: %d %s, want 400", name, got.Status, got.Raw)
		}
	}
	if got := b.sim.Statistics().Records["ContentVersion"]; got != 2 {
		t.Errorf("%d files, want 2", got)
	}
}
