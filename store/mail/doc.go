// Package mail has the records of a message relay: agents by their key, messages, who may send to whom, blobs, webhooks, and used
// signatures. store/sqlmail stores them in an SQL database; callers declare the methods that they need.
package mail
