// Package read reads OpenAPI 3.0 and 3.1 documents, and Swagger 2.0 as OpenAPI 3.0, in JSON or YAML, as trees. It follows references
// inside the document and to files beside it, fetches nothing, and bounds bytes, values and aliases of all files together. It reads
// trees, not typed models, so that one bad operation never affects the others.
package read
