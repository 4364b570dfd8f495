import { type CredentialRequestInput, credentialRequestSchema, textFor } from '@postern/api';
import { z } from 'zod/v4';
import { GatewayError, hasCode } from '../errors.ts';
import { type SealedFor, typedOf } from '../gateway/sealed-delivery.ts';
import { forHandler, forHearer, runSerially } from '../run/handler.ts';
import type { Ask, AskSpec, ToolRun } from '../run/run.ts';
import {
  type Accepted,
  answer,
  answerAnew,
  bodyOptions,
  displayName,
  idempotencyKey,
  openAsk,
  outcomeOf,
  parseTerms,
} from './ask.ts';
import type {
  AskOptions,
  Credential,
  CredentialRequest,
  LastingCredential,
  LastingCredentialAccepted,
} from './verbs.ts';

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
      forHearer(run.handlerState, async () => {
        const present = await read();
        generation = present.generation;
        return present.values;
      }),
    rejected: forHandler(run, () => runSerially(run, () => takeLasting(run, rejecting(ask, generation), true))),
    remove: () => forHearer(run.handlerState, () => client.removeCredential(credentialId, ask.signal)),
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
