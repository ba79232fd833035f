// A Provider keeps in memory what a host would keep in files, and notes the addresses that the official client wants the person to open.
export class Provider {
  asked = [] // authorization URLs
  kept = {}
  constructor(redirectUrl, clientMetadataUrl) {
    this.redirectUrl = redirectUrl
    this.clientMetadataUrl = clientMetadataUrl
  }
  get clientMetadata() {
    return {
      client_name: 'Assistant', redirect_uris: [this.redirectUrl], grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'], token_endpoint_auth_method: 'none',
    }
  }
  state() { return (this.kept.state = crypto.randomUUID()) }
  clientInformation() { return this.kept.client }
  saveClientInformation(c) { this.kept.client = c }
  tokens() { return this.kept.tokens }
  saveTokens(t) { this.kept.tokens = t }
  redirectToAuthorization(u) { this.asked.push(u) }
  saveCodeVerifier(v) { this.kept.verifier = v }
  codeVerifier() { return this.kept.verifier }
  saveDiscoveryState(d) { this.kept.found = d }
  discoveryState() { return this.kept.found }
  invalidateCredentials(what) {
    if (what === 'all' || what === 'client') delete this.kept.client
    if (what === 'all' || what === 'tokens') delete this.kept.tokens
  }
}
