/** A user with an account at an OpenID provider. Further members are claims, which the provider issues if its configuration lists them. */
export interface OpenIdUser {
  /** Account id, and `sub` unless the provider is pairwise. */
  readonly sub: string;
  readonly name: string;
  readonly email: string;
}
