import { type CredentialRequestInput, credentialRequestSchema } from '@postern/api';
import { z } from 'zod';
import {
  type AnswerTo,
  type Cancelled,
  type Declined,
  idempotencyKey,
  outcomeOf,
  type TakenOnce,
  toRefusal,
} from './answers.ts';
import { type Ask, type AskOptions, askDigest, bodyOptions, displayName, parseAsk } from './ask.ts';
import { GatewayError } from './errors.ts';
import { type Answer, answer, answerAnew, hasCode } from './resolve.ts';
import { type Inquiry, inTurn, openInquiry, type Run } from './run.ts';
import type { SealedFor } from './sealed-delivery.ts';
import { typedOf } from './typed-result.ts';

type Fields = readonly { readonly name: string }[];
type ValuesOf<F extends Fields> = { readonly [N in F[number]['name']]: string };

/** What the user is to enter. Everything but `fields` as the gateway has it; each field's name names a value. */
export type CredentialRequest<F extends Fields = CredentialRequestInput['fields']> = Omit<
  CredentialRequestInput,
  'fields' | 'retention' | 'rejectedGeneration'
> & {
  readonly fields: F & readonly CredentialRequestInput['fields'][number][];
  readonly retention?: 'once' | 'lasting';
};

/** What the user entered, once. */
export interface CredentialAccepted<Values> extends TakenOnce {
  /** By the name of the field. Keep them in memory, out of results and logs. */
  readonly values: Values;
}

/** What the user entered, now or earlier, and the gateway keeps. */
export interface LastingCredentialAccepted<Values> {
  readonly action: 'accept';
  readonly credentialId: string;
  /** Names these values; later ones have a greater number. */
  readonly generation: number;
  /** By the name of the field. Keep them in memory for this call, out of results and logs. */
  readonly values: Values;
  /**
   * The values as they are now: the user may have replaced them.
   *
   * @throws {GatewayError} `not_found` once the credential was deleted
   */
  read(): Promise<Values>;
  /**
   * Says that these values do not work (any more): answers with newer ones, where there are some, and asks the user otherwise,
   * which suspends the handler. Only for values that were turned away as such: they are given up.
   */
  rejected(): Promise<LastingCredential<Values>>;
  /** Deletes it at the gateway. */
  remove(): Promise<void>;
}

export type Credential<Values> = AnswerTo<CredentialAccepted<Values>>;
export type LastingCredential<Values> = LastingCredentialAccepted<Values> | Declined | Cancelled;

export interface CredentialVerb {
  <const F extends Fields>(
    request: CredentialRequest<F> & { readonly retention: 'lasting' },
    options?: AskOptions,
  ): Promise<LastingCredential<ValuesOf<F>>>;
  <const F extends Fields>(
    request: CredentialRequest<F> & { readonly retention?: 'once' },
    options?: AskOptions,
  ): Promise<Credential<ValuesOf<F>>>;
}

type Values = Readonly<Record<string, string>>;

export async function credential(
  run: Run,
  request: CredentialRequest,
  options: AskOptions = {},
): Promise<Credential<Values> | LastingCredential<Values>> {
  const ask = createCredentialAsk(request, options);
  return await inTurn(run, async () => {
    const inquiry = await openInquiry(run, ask, options);
    return ask.leavesResult ? await takeOnce(run, inquiry) : await takeLasting(run, inquiry);
  });
}

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export function createCredentialAsk(request: CredentialRequestInput | CredentialRequest, options: AskOptions): Ask {
  const credential = parseAsk('credential', credentialRequestSchema, request);
  const { name, title, retention, rejectedGeneration: _, ...what } = credential;
  return {
    about: { kind: 'credential', name, title },
    digest: askDigest('credential', { name, title, retention, ...what }),
    body: { kind: 'credential', credential, ...bodyOptions('credential', options) },
    leavesResult: retention === 'once',
    ...(retention === 'once'
      ? {}
      : {
          lasting: async (run, signal) =>
            (await run.environment.client.credentials(await run.principal(), name, signal)).credentials,
        }),
  };
}

async function takeOnce(run: Run, inquiry: Inquiry): Promise<Credential<Values>> {
  const answered = await answer(run, inquiry);
  if (answered.action !== 'accept') return toRefusal(run, inquiry.ask, answered.resolution);
  const { elicitation, result } = answered;
  const { elicitationId } = elicitation;
  const values = await valuesOf(run, inquiry, { elicitationId }, result);
  return { action: 'accept', elicitationId, idempotencyKey: idempotencyKey(elicitationId), values };
}

/** Deleted between the answer and the reading: the user is asked again, a bounded number of times. */
async function takeLasting(
  run: Run,
  inquiry: Inquiry,
  isAnew = false,
  attempts = 3,
): Promise<LastingCredential<Values>> {
  const answered = await (isAnew ? answerAnew : answer)(run, inquiry);
  if (answered.action !== 'accept') return toRefusal(run, inquiry.ask, answered.resolution);
  try {
    return await lasting(run, inquiry, answered);
  } catch (error) {
    if (!hasCode(error, 'not_found') || attempts <= 1) throw error;
    return await takeLasting(run, inquiry, true, attempts - 1);
  }
}

async function lasting(
  run: Run,
  inquiry: Inquiry,
  { elicitation }: Extract<Answer, { action: 'accept' }>,
): Promise<LastingCredentialAccepted<Values>> {
  const { client, sealedOpener } = run.environment;
  const { credentialId } = outcomeOf('credential', elicitation);
  if (credentialId === undefined) throw new GatewayError('invalid_response', 'There is no credential to read.');
  const tool = displayName(run.call.toolName);
  const read = async () => {
    const body = await client.readCredential(
      credentialId,
      {
        ...(tool === undefined ? {} : { tool }),
        ...(sealedOpener === undefined ? {} : { sealed: true as const }),
      },
      inquiry.signal,
    );
    const { generation } = body;
    return { generation, values: await valuesOf(run, inquiry, { credentialId, generation }, body) };
  };

  const first = await read();
  // What was turned away is named by its generation: also values that were read later.
  let { generation } = first;
  return {
    action: 'accept',
    credentialId,
    generation,
    values: first.values,
    async read() {
      const present = await read();
      generation = present.generation;
      return present.values;
    },
    rejected: () => inTurn(run, () => takeLasting(run, rejecting(inquiry, generation), true)),
    remove: () => client.removeCredential(credentialId, inquiry.signal),
  };
}

/** The same question, for values that are newer than those. */
function rejecting(inquiry: Inquiry, rejectedGeneration: number): Inquiry {
  const { ask } = inquiry;
  if (ask.body.kind !== 'credential') throw new TypeError('not a question for a credential');
  return {
    ...inquiry,
    ask: { ...ask, body: { ...ask.body, credential: { ...ask.body.credential, rejectedGeneration } } },
  };
}

const valuesSchema = z.record(z.string(), z.string());

async function valuesOf(run: Run, { ask }: Inquiry, owner: SealedFor, body: object | undefined): Promise<Values> {
  const values = valuesSchema.safeParse(await typedOf(run, owner, body));
  const asked = ask.body.kind === 'credential' ? ask.body.credential.fields.map(({ name }) => name) : [];
  // The error of zod would quote them.
  if (!values.success || !asked.every(name => Object.hasOwn(values.data, name)))
    throw new GatewayError('invalid_response', 'The gateway gave other values than were asked for.');
  return values.data;
}
