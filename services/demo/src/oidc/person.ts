/** Somebody with an account at one of the demo's providers. */
export interface Person {
  /** Account id and `sub`. */
  readonly id: string;
  readonly name: string;
  readonly email: string;
}
