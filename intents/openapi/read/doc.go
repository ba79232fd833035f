// Package read reads OpenAPI documents in JSON or YAML as trees. It supports OpenAPI 3.0 and 3.1, and converts Swagger 2.0 to OpenAPI
// 3.0. It follows references inside the document and to files beside it, and never fetches anything. It bounds the bytes, values and
// aliases of all files together. It uses trees instead of typed models, so that an invalid operation does not affect others.
package read
