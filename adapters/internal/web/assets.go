package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

type asset struct {
	name    string
	body    []byte
	version string // hash of the body: a changed file has another address
}

func (s *Site) addAssets(files fs.FS) {
	for _, entry := range must(fs.ReadDir(files, ".")) {
		name := entry.Name()
		if mediaType(name) == "" {
			continue
		}
		body := must(fs.ReadFile(files, name))
		sum := sha256.Sum256(body)
		s.assets[name] = asset{name, body, hex.EncodeToString(sum[:6])}
	}
}

func (s *Site) assetURL(name string) string {
	return s.base + s.Assets + name + "?v=" + s.assets[name].version
}

// Asset answers a request for a path under SiteConfig.Assets.
func (s *Site) Asset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets[strings.TrimPrefix(r.URL.Path, s.Assets)]
	if !ok {
		s.NotFound(w, r)
		return
	}
	// During a rolling upgrade a page of one version may request an asset from a server of the other.
	lasting := r.URL.Query().Get("v") == a.version
	ServeAsset(w, a.name, a.body, lasting)
}

// ServeAsset answers with a stylesheet, script or icon. A lasting one never changes under its address.
func ServeAsset(w http.ResponseWriter, name string, body []byte, lasting bool) {
	cache := "public, max-age=3600"
	if lasting {
		cache = "public, max-age=31536000, immutable"
	}
	w.Header().Set("Cache-Control", cache)
	w.Header().Set("Content-Type", mediaType(name))
	_, _ = w.Write(body) // an error means that the client hung up
}

// Icon returns the icon that every page has, as SVG.
func Icon() []byte { return must(shared.ReadFile("icon.svg")) }

func mediaType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return ""
}
