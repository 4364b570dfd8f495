import { randomBytes } from 'node:crypto';
import { createOutboundFetch, type OutboundFetch } from '@postern/authorization';
import { z } from 'zod';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import { isLoopbackUrl } from '../../platform/config/config-values.ts';
import { sharedSecretOf } from '../../platform/config/vault-config.ts';
import { createGatewayProof, gatewayProofPath } from '../../platform/http/gateway-proof.ts';
import { hostPort, originHere } from '../../platform/start-error.ts';
import { jsonOf } from '../cli-io.ts';
import { type Finding, failed, ok, warning } from './findings.ts';
import { outsideFault } from './server-checks.ts';

const proofSchema = z.object({ proof: z.string().max(100) });

type Reached =
  | { readonly is: 'this' }
  | { readonly is: 'other gateway' }
  | { readonly is: 'something else' | 'nothing'; readonly why: string };

/**
 * Checks whether `publicUrl` reaches a gateway of this deployment: it must prove that it knows the vault keys, over a fresh nonce. The
 * running gateway answers only with that proof, and never sends a request because of it.
 */
export async function checkPublicUrl(config: GatewayConfig, fetch: OutboundFetch): Promise<readonly Finding[]> {
  const { publicUrl, listen } = config;
  const check = 'publicUrl';
  const proof = createGatewayProof(sharedSecretOf(config));
  const outside = await reached(publicUrl, proof, fetch);
  if (outside.is === 'this') return [ok(check, `${publicUrl} reaches this gateway.`)];
  if (outside.is === 'other gateway')
    return [failed(check, `${publicUrl} reaches a gateway with other vault keys. Check DNS and the reverse proxy.`)];

  const local = await reachedHere(config, proof);
  const here = `http://${hostPort(listen.host, listen.port)}`;
  if (local === 'unknown' || local.is === 'nothing') {
    const notRunning =
      local === 'unknown'
        ? 'Whether the gateway runs is unknown.'
        : `The gateway is not running: nothing responds at ${here}.`;
    return [warning(check, `${notRunning} Start it and check again. ${publicUrl}: ${outside.why}`)];
  }
  if (local.is !== 'this')
    return [failed(check, `Another program listens at ${here}, and ${publicUrl} does not reach this gateway.`)];
  const reason = `The gateway runs at ${here}, but ${publicUrl} does not reach it. ${outside.why}`;
  return [failed(check, `${reason} Check DNS, certificate and reverse proxy.`)];
}

async function reached(
  origin: string,
  proof: ReturnType<typeof createGatewayProof>,
  fetch: OutboundFetch,
): Promise<Reached> {
  const nonce = randomBytes(32).toString('base64url');
  let response: Response;
  try {
    response = await fetch(`${origin}${gatewayProofPath(nonce)}`, { headers: { accept: 'application/json' } });
  } catch (error) {
    return { is: 'nothing', why: outsideFault(error) };
  }
  const answer = proofSchema.safeParse(jsonOf(await response.text())).data;
  if (response.status !== 200 || answer === undefined)
    return { is: 'something else', why: `Something else answers there (HTTP status ${response.status}).` };
  return { is: proof.isOf(nonce, answer.proof) ? 'this' : 'other gateway' };
}

/** Asks the listener of this machine, without the reverse proxy. */
async function reachedHere({ listen }: GatewayConfig, proof: ReturnType<typeof createGatewayProof>) {
  const origin = loopbackOrigin(listen);
  if (origin === undefined) return 'unknown';
  await using fetch = createOutboundFetch({ allowLoopback: true });
  return await reached(origin, proof, fetch);
}

/** The listener of this machine. Undefined for another interface, which may be reached only over https, and for a port that is chosen at the start. */
function loopbackOrigin({ host, port }: GatewayConfig['listen']): string | undefined {
  const origin = originHere(host, port);
  return isLoopbackUrl(origin) && port !== 0 ? origin : undefined;
}

/** Address of the gateway of this configuration on this machine. Undefined unless one runs and proves that it knows the vault keys. */
export async function gatewayHere(config: GatewayConfig): Promise<string | undefined> {
  const local = await reachedHere(config, createGatewayProof(sharedSecretOf(config)));
  return local !== 'unknown' && local.is === 'this' ? loopbackOrigin(config.listen) : undefined;
}
