// Package mail has what a relay of messages keeps, as records: agents by their key, messages on their way, who may send to whom,
// blobs, webhooks, and signatures that have been used. store/sqlmail keeps them in an SQL database; what a caller needs of it, the
// caller declares.
package mail
