package salesforcetest

import (
	"crypto/md5"
	"encoding/hex"
	"path"
	"strconv"
	"strings"
)

// publish completes a new version of content, and makes the document that it belongs to.
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
	values := map[string]string{"LatestPublishedVersionId": r.id}
	for _, name := range []string{"Title", "ContentSize", "FileType", "FileExtension"} {
		values[name] = r.values[name]
	}
	made, err := t.insert(t.org.table(objectContentDocument), values)
	if err == nil {
		r.values["ContentDocumentId"] = made.id
	}
	return err
}

// linkDocument links the document of a version to the record that the client names.
func (t *transaction) linkDocument(version *record) *apiError {
	if version.values["FirstPublishLocationId"] == "" {
		return nil
	}
	_, err := t.insert(t.org.table(objectContentLink), map[string]string{"ContentDocumentId": version.values["ContentDocumentId"],
		"LinkedEntityId": version.values["FirstPublishLocationId"], "ShareType": "V", "Visibility": "AllUsers"})
	return err
}
