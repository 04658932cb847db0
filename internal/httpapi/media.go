package httpapi

import (
	"mime"
	"strconv"
	"strings"
)

// The media types that the API speaks.
const (
	mediaJSON       = "application/json"
	mediaMergePatch = "application/merge-patch+json" // RFC 7396
	mediaNDJSON     = "application/x-ndjson"         // a JSON value a line
	mediaForm       = "application/x-www-form-urlencoded"
	mediaMultipart  = "multipart/form-data" // RFC 7578
	mediaEvents     = "text/event-stream"
	mediaBytes      = "application/octet-stream"
	mediaProblem    = "application/problem+json" // RFC 9457
)

// accepts tells whether Accept headers (RFC 9110, section 12.5.1) ask for a media
// type by its name. A range like */* asks for none.
func accepts(headers []string, media string) bool {
	for _, header := range headers {
		for named := range strings.SplitSeq(header, ",") {
			name, parameters, err := mime.ParseMediaType(named)
			if err != nil || name != media {
				continue
			}
			if weight, err := strconv.ParseFloat(parameters["q"], 64); err != nil || weight > 0 {
				return true
			}
		}
	}
	return false
}
