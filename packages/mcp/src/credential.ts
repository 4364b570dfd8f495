import { type CredentialRequestInput, credentialRequestSchema, textFor } from '@postern/api';
import { z } from 'zod/v4';
import {
  type Accepted,
  type AnswerIn,
  type AnswerTo,
  answer,
  answerAnew,
  idempotencyKey,
  outcomeOf,
  type RefusalMode,
  type TakenOnce,
} from './answer.ts';
import { type Ask, type AskOptions, type AskSpec, bodyOptions, displayName, openAsk, parseTerms } from './ask.ts';
import { GatewayError, hasCode } from './errors.ts';
import { forHearer } from './for-hearer.ts';
import { type SealedFor, typedOf } from './sealed-delivery.ts';
import { forHandler, runSerially, type ToolRun } from './tool-run.ts';

type Fields = readonly { readonly name: string }[];
type ValuesOf<F extends Fields> = { readonly [N in F[number]['name']]: string };

/** The fields that the user must enter. Each field's `name` becomes a key of `values`. */
export type CredentialRequest<F extends Fields = CredentialRequestInput['fields']> = Omit<
  CredentialRequestInput,
  'fields' | 'retention' | 'rejectedGeneration'
> & {
  readonly fields: F & readonly CredentialRequestInput['fields'][number][];
  readonly retention?: 'once' | 'lasting';
};

/** Values that the gateway returns once and does not keep. */
export interface CredentialAccepted<Values> extends TakenOnce {
  /** By the name of the field. Keep them in memory, out of results and logs. */
  readonly values: Values;
}

/** Values that the gateway keeps for the user. */
export interface LastingCredentialAccepted<Values, Mode extends RefusalMode = 'returned'> {
  readonly action: 'accept';
  readonly credentialId: string;
  /** Version of the values; it grows with every replacement. */
  readonly generation: number;
  /** By the name of the field. Keep them in memory for this call, out of results and logs. */
  readonly values: Values;
  /**
   * Reads the current values, which the user may have replaced.
   *
   * @throws {GatewayError} `not_found` once the credential was deleted
   */
  read(): Promise<Values>;
  /**
   * Reports that the service rejected these values. Returns newer values if there are any; otherwise asks the user, which suspends
   * the handler. The rejected values are discarded, so do not call it for other failures.
   */
  rejected(): Promise<AnswerIn<Mode, LastingCredentialAccepted<Values, Mode>>>;
  /** Deletes the credential at the gateway. */
  remove(): Promise<void>;
}

export type Credential<Values> = AnswerTo<CredentialAccepted<Values>>;
export type LastingCredential<Values> = AnswerTo<LastingCredentialAccepted<Values>>;

export interface CredentialVerb<Mode extends RefusalMode = 'returned'> {
  <const F extends Fields>(
    request: CredentialRequest<F> & { readonly retention: 'lasting' },
    options?: AskOptions,
  ): Promise<AnswerIn<Mode, LastingCredentialAccepted<ValuesOf<F>, Mode>>>;
  <const F extends Fields>(
    request: CredentialRequest<F> & { readonly retention?: 'once' },
    options?: AskOptions,
  ): Promise<AnswerIn<Mode, CredentialAccepted<ValuesOf<F>>>>;
}

type Values = Readonly<Record<string, string>>;

export async function credential(
  run: ToolRun,
  request: CredentialRequest,
  options: AskOptions = {},
): Promise<Credential<Values> | LastingCredential<Values>> {
  const spec = credentialSpec(request, options);
  return await runSerially(run, async () => {
    const ask = await openAsk(run, spec, options);
    return spec.needsRedemption ? await takeOnce(run, ask) : await takeLasting(run, ask);
  });
}

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent @internal */
export function credentialSpec(request: CredentialRequestInput | CredentialRequest, options: AskOptions): AskSpec {
  const credential = parseTerms('credential', credentialRequestSchema, request);
  const { name, title, retention, rejectedGeneration: _, ...what } = credential;
  return {
    about: { kind: 'credential', name, title: textFor(title, options.locale) },
    terms: { name, title, retention, ...what },
    body: { kind: 'credential', credential, ...bodyOptions('credential', options) },
    needsRedemption: retention === 'once',
    lasting:
      retention === 'once'
        ? undefined
        : async (run, signal) =>
            (await run.environment.client.credentials(await run.principal(), name, signal)).credentials,
  };
}

async function takeOnce(run: ToolRun, ask: Ask): Promise<Credential<Values>> {
  const answered = await answer(run, ask);
  if (answered.action !== 'accept') return answered;
  const { elicitation, result } = answered;
  const { elicitationId } = elicitation;
  const values = await valuesOf(run, ask, { elicitationId }, result);
  return { action: 'accept', elicitationId, idempotencyKey: idempotencyKey(elicitationId), values };
}

/** The credential may be deleted between the answer and the read. Then the user is asked again, a bounded number of times. */
async function takeLasting(run: ToolRun, ask: Ask, isAnew = false, attempts = 3): Promise<LastingCredential<Values>> {
  const answered = await (isAnew ? answerAnew : answer)(run, ask);
  if (answered.action !== 'accept') return answered;
  try {
    return await lasting(run, ask, answered);
  } catch (error) {
    if (!hasCode(error, 'not_found') || attempts <= 1) throw error;
    return await takeLasting(run, ask, true, attempts - 1);
  }
}

async function lasting(run: ToolRun, ask: Ask, { elicitation }: Accepted): Promise<LastingCredentialAccepted<Values>> {
  const { client, sealedOpener } = run.environment;
  const { credentialId } = outcomeOf('credential', elicitation);
  if (credentialId === undefined) throw new GatewayError('invalid_response', 'The gateway returned no credential id.');
  const tool = displayName(run.call.toolName);
  const read = async () => {
    const body = await client.readCredential(credentialId, { tool, sealed: sealedOpener && true }, ask.signal);
    const { generation } = body;
    return { generation, values: await valuesOf(run, ask, { credentialId, generation }, body) };
  };

  const first = await read();
  // `rejected` reports the generation that was read last.
  let { generation } = first;
  return {
    action: 'accept',
    credentialId,
    generation,
    values: first.values,
    read: () =>
      forHearer(run.progress, async () => {
        const present = await read();
        generation = present.generation;
        return present.values;
      }),
    rejected: forHandler(run, () => runSerially(run, () => takeLasting(run, rejecting(ask, generation), true))),
    remove: () => forHearer(run.progress, () => client.removeCredential(credentialId, ask.signal)),
  };
}

/** The same ask, for values newer than the rejected ones. */
function rejecting(ask: Ask, rejectedGeneration: number): Ask {
  const { spec } = ask;
  if (spec.body.kind !== 'credential') throw new TypeError('not an ask for a credential');
  return {
    ...ask,
    spec: { ...spec, body: { ...spec.body, credential: { ...spec.body.credential, rejectedGeneration } } },
  };
}

const valuesSchema = z.record(z.string(), z.string());

async function valuesOf(run: ToolRun, { spec }: Ask, owner: SealedFor, body: object | undefined): Promise<Values> {
  const values = valuesSchema.safeParse(await typedOf(run.environment.sealedOpener, owner, body));
  const asked = spec.body.kind === 'credential' ? spec.body.credential.fields.map(({ name }) => name) : [];
  // zod's error would quote the values.
  if (!values.success || !asked.every(name => Object.hasOwn(values.data, name)))
    throw new GatewayError('invalid_response', 'The gateway returned other fields than requested.');
  return values.data;
}
