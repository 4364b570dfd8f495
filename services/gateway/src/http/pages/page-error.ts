/** A request that a page refuses as such, whatever it was about. */
export class PageError extends Error {
  override name = 'PageError';
  readonly kind: 'bad_request' | 'forbidden';

  constructor(kind: 'bad_request' | 'forbidden') {
    super(kind);
    this.kind = kind;
  }
}
