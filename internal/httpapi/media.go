package httpapi

// The media types that the API speaks.
const (
	mediaJSON       = "application/json"
	mediaMergePatch = "application/merge-patch+json" // RFC 7396
	mediaNDJSON     = "application/x-ndjson"         // a JSON value a line
	mediaForm       = "application/x-www-form-urlencoded"
	mediaProblem    = "application/problem+json" // RFC 9457
)
