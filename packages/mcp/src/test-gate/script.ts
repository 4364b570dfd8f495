import type { IssueElicitation } from '@postern/api';
import { z } from 'zod/v4';
import type { ApiFetch } from '../ask/verbs.ts';
import { callable, type ElicitationFailureCode, parseStrictly } from '../errors.ts';
import type { Subject } from '../gateway/client.ts';

type FailureCode = Exclude<ElicitationFailureCode, 'unknown'>;

/** How the scripted user answers one ask. */
export type Outcome<Answer extends object> =
  | { readonly status: 'completed'; readonly answer: Answer }
  | { readonly status: 'declined' | 'cancelled' | 'expired' | 'pending' }
  | { readonly status: 'failed'; readonly code: FailureCode };

/** The user accepts, with this answer. Default: one without any particular values. */
export function accept(): { readonly status: 'completed'; readonly answer: Record<never, never> };
export function accept<const Answer extends object>(
  answer: Answer,
): { readonly status: 'completed'; readonly answer: Answer };
export function accept(answer: object = {}) {
  return { status: 'completed' as const, answer };
}

/** The user declines on the page. */
export const decline = () => ({ status: 'declined' as const });

/** There is no decision: the elicitation was cancelled, or it expired. */
export const cancel = (reason: 'cancelled' | 'expired' = 'cancelled') => ({ status: reason });

/** The interaction fails: the verb throws `ElicitationFailedError` with this code. */
export const fail = (code: FailureCode = 'provider_refused') => ({ status: 'failed' as const, code });

/** The user has not answered yet: the call ends with the link. */
export const pending = () => ({ status: 'pending' as const });

/** A request to the user, as the gateway would get it. */
export type Asked<Kind extends IssueElicitation['kind'] = IssueElicitation['kind']> = Extract<
  IssueElicitation,
  { readonly kind: Kind }
>;

/** An outcome for every such ask, or a function that decides by the terms. */
export type Scripted<Terms, Answer extends object> = Outcome<Answer> | ((terms: Terms) => Outcome<Answer>);

/** `2026-07-28`: a retry carries the state of the call. `2025-11-25`: the call is repeated, and what it asked is remembered. */
export type Revision = (typeof revisions)[number];
const revisions = ['2026-07-28', '2025-11-25'] as const;

export interface TestScript {
  /** By provider. `token` is the access token; `scopes` are those granted, default those asked for. */
  readonly authorize?: Readonly<
    Record<
      string,
      Scripted<
        Asked<'authorization'>['authorization'],
        { readonly token?: string; readonly scopes?: readonly string[] }
      >
    >
  >;
  /** A receipt that is not scripted is a text, which no verifier accepts. */
  readonly pay?: Scripted<
    Asked<'payment'>['payment'],
    {
      readonly receipt?: string;
      readonly processor?: string;
      readonly processorReference?: string;
      readonly mode?: 'live' | 'test';
    }
  >;
  readonly confirm?: Scripted<Asked<'confirmation'>['confirmation'], { readonly receipt?: string }>;
  /** By the name of the credential. */
  readonly credential?: Readonly<
    Record<string, Scripted<Asked<'credential'>['credential'], { readonly values: Readonly<Record<string, string>> }>>
  >;
  /** `content` is checked against the schema, as from a page. */
  readonly form?: Scripted<Asked<'form'>['form'], { readonly content: Readonly<Record<string, unknown>> }>;
  /** Answers the requests of `ctx.accounts.….fetch`. Without it, they fail: a test gate uses no network. */
  readonly fetch?: ApiFetch;
  /** Whether the MCP client opens links (`ctx.gate.client.url`). Without it, the user gets the link as text. Default true. */
  readonly opensLinks?: boolean;
  /** The revision of MCP that the MCP client speaks. Default: the newest of the SDK. */
  readonly revision?: Revision;
  /** The user. Default `{ issuer: 'http://localhost', subject: 'test-user' }`. */
  readonly subject?: Subject;
}

const text = z.string();
const outcome = z.union([
  callable,
  z.discriminatedUnion('status', [
    z.strictObject({ status: z.literal('completed'), answer: z.looseObject({}) }),
    z.strictObject({ status: z.enum(['declined', 'cancelled', 'expired', 'pending']) }),
    z.strictObject({ status: z.literal('failed'), code: text }),
  ]),
]);
const scriptSchema = z.strictObject({
  pay: outcome.optional(),
  confirm: outcome.optional(),
  form: outcome.optional(),
  authorize: z.record(text, outcome).optional(),
  credential: z.record(text, outcome).optional(),
  fetch: callable.optional(),
  opensLinks: z.boolean().optional(),
  revision: z.enum(revisions).optional(),
  subject: z.strictObject({ issuer: text, subject: text }).optional(),
});

/** @throws {PosternUsageError} `invalid_options` */
export function assertScript(script: TestScript): void {
  parseStrictly('invalid_options', 'testGate', scriptSchema, script);
}

/** What `accept()` may have, by the kind of the ask. */
export const answerSchemas = {
  authorization: z.strictObject({ token: text.default('test-access-token'), scopes: z.array(text).optional() }),
  payment: z.strictObject({
    receipt: text.default('test-receipt'),
    processor: text.default('none'),
    processorReference: text.optional(),
    mode: z.enum(['live', 'test']).optional(),
  }),
  confirmation: z.strictObject({ receipt: text.default('test-receipt') }),
  credential: z.strictObject({ values: z.record(text, text) }),
  form: z.strictObject({
    content: z.record(text, z.union([text, z.number(), z.boolean(), z.array(text)])),
  }),
};
