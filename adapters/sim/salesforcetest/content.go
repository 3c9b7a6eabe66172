package salesforcetest

import (
	"crypto/md5"
	"encoding/hex"
	"maps"
	"path"
	"strconv"
	"strings"
)

// publish completes a new version of content: it belongs to a new document, or is the next version of the document
// that it names.
func (t *transaction) publish(r *record) *apiError {
	content, name := r.values["VersionData"], r.values["PathOnClient"]
	extension := strings.TrimPrefix(path.Ext(name), ".")
	sum := md5.Sum([]byte(content))
	r.values["FileExtension"], r.values["FileType"] = extension, strings.ToUpper(extension)
	r.values["ContentSize"], r.values["Checksum"] = strconv.Itoa(len(content)), hex.EncodeToString(sum[:])
	r.values["IsLatest"], r.values["VersionNumber"] = "true", "1"
	if r.values["Title"] == "" {
		r.values["Title"] = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	r.id = t.newID(r.table)
	document := t.org.records[r.values["ContentDocumentId"]]
	if document == nil {
		return t.newDocument(r)
	}
	if r.values["FirstPublishLocationId"] != "" {
		return refused(about("FIELD_INTEGRITY_EXCEPTION", "You cannot set First Publish Location Id for a version of a document that exists",
			"FirstPublishLocationId"))
	}
	before := r.table.with("ContentDocumentId", document.id)
	r.values["VersionNumber"] = strconv.Itoa(len(before) + 1)
	for _, version := range before {
		t.setValues(version, map[string]string{"IsLatest": "false"})
	}
	t.setValues(document, documentValues(r))
	return nil
}

// newDocument makes the document of a first version.
func (t *transaction) newDocument(version *record) *apiError {
	table := t.org.table(objectContentDocument)
	if table == nil {
		return failure(400, codeInvalidType, "sObject type 'ContentDocument' is not supported.")
	}
	made, err := t.insert(table, documentValues(version))
	if err == nil {
		version.values["ContentDocumentId"] = made.id
	}
	return err
}

// documentValues returns what a document has from its latest version.
func documentValues(version *record) map[string]string {
	values := map[string]string{"LatestPublishedVersionId": version.id}
	for _, name := range []string{"Title", "ContentSize", "FileType", "FileExtension"} {
		values[name] = version.values[name]
	}
	return values
}

// setValues changes some values of a record on Salesforce's behalf.
func (t *transaction) setValues(r *record, some map[string]string) {
	values := maps.Clone(r.values)
	maps.Copy(values, some)
	t.change(r, values, some)
}

// linkDocument links the document of a first version to its owner, and to the record that the client names.
func (t *transaction) linkDocument(version *record) *apiError {
	table := t.org.table(objectContentLink)
	if table == nil || version.values["VersionNumber"] != "1" {
		return nil
	}
	for _, share := range []struct{ entity, kind string }{{version.values["OwnerId"], "I"}, {version.values["FirstPublishLocationId"], "V"}} {
		if share.entity == "" {
			continue
		}
		if _, err := t.insert(table, map[string]string{"ContentDocumentId": version.values["ContentDocumentId"],
			"LinkedEntityId": share.entity, "ShareType": share.kind, "Visibility": "AllUsers"}); err != nil {
			return err
		}
	}
	return nil
}
