import type fc from 'fast-check';

/** A request in parts, each of which can be damaged separately. */
export interface Draft {
  readonly method: string;
  /** Path of the route, with its parameters filled in and encoded. */
  readonly path: readonly string[];
  readonly query: readonly Pair[];
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly cookies: readonly Pair[];
  /** The query parameter of a one-time value that this GET consumes. */
  readonly spends?: 'state' | 'ticket';
  readonly body: DraftBody;
  /** Damage that this route must refuse, in addition to what every route refuses. */
  readonly refusedBy?: fc.Arbitrary<(draft: Draft) => Draft>;
  /** Whether a damaged JSON body is valid by the contract. Such a body need not be refused. */
  readonly isValidJson?: (json: string) => boolean;
  /** Without a session the response is a success, because there is nothing left to do. */
  readonly isForAnyone?: true;
  /** The only allowed status. */
  readonly answeredBy?: number;
}

export type Pair = readonly [name: string, value: string];

export type DraftBody =
  | { readonly type: 'none' }
  | { readonly type: 'form'; readonly fields: readonly Pair[] }
  | { readonly type: 'json'; readonly json: string }
  | { readonly type: 'text'; readonly text: string };

/** Serializes the request as it is sent to the gateway. */
export interface FuzzInput {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string | undefined;
  readonly answeredBy: number | undefined;
}

const mediaTypes: Readonly<Record<DraftBody['type'], string | undefined>> = {
  none: undefined,
  form: 'application/x-www-form-urlencoded',
  json: 'application/json',
  text: 'application/json',
};

export function toInput(draft: Draft): FuzzInput {
  const query = draft.query.map(([name, value]) => `${name}=${value}`).join('&');
  const path = `/${draft.path.join('/')}`.replaceAll(/[\r\n ]/g, '+');
  const mediaType = mediaTypes[draft.body.type];
  const cookie = draft.cookies.map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = {
    ...(mediaType === undefined ? undefined : { 'content-type': mediaType }),
    ...(cookie === '' ? {} : { cookie }),
    ...draft.headers,
  };
  return {
    method: draft.method,
    url: query === '' ? path : `${path}?${query}`,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
    ),
    body: textOf(draft.body),
    answeredBy: draft.answeredBy,
  };
}

function textOf(body: DraftBody): string | undefined {
  switch (body.type) {
    case 'none':
      return undefined;
    case 'form':
      return body.fields.map(([name, value]) => `${name}=${value}`).join('&');
    case 'json':
      return body.json;
    case 'text':
      return body.text;
  }
}

export const encodePairs = (fields: Readonly<Record<string, string>>): readonly Pair[] =>
  Object.entries(fields).map(([name, value]) => [encodeURIComponent(name), encodeURIComponent(value)]);
