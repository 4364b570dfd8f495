/**
 * The person an elicitation is for: an issuer and the immutable identifier that issuer gave them. Never an e-mail
 * address or a display name, because those are reassigned (OpenID Connect Core 1.0 section 5.7).
 */
export interface Subject {
  readonly issuer: string;
  readonly subject: string;
}

/** Compares by exact string; issuers are not normalised (OpenID Connect Discovery 1.0 section 3, RFC 9207 section 2.4). */
export function isSameSubject(a: Subject, b: Subject): boolean {
  return a.issuer === b.issuer && a.subject === b.subject;
}
