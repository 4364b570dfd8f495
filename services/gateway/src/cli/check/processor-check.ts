import type { OutboundFetch } from '@postern/authorization';
import { inspectProcessor, type ProcessorConfig, ProcessorError, type ProcessorInspection } from '@postern/payment';
import { withOptionalPackages } from '../../platform/optional-packages.ts';
import { type Finding, failed, ok, warning } from './findings.ts';
import { outsideFault } from './server-checks.ts';

/** Checks key, permissions and webhook endpoint of a payment processor, without creating anything there. */
export async function checkProcessor(
  config: ProcessorConfig,
  p: { readonly publicUrl: string; readonly fetch: OutboundFetch; readonly timeoutMs: number },
): Promise<readonly Finding[]> {
  const check = `processor.${config.name}`;
  const webhookUrl = new URL(`/webhooks/${config.name}`, p.publicUrl).href;
  let found: ProcessorInspection;
  try {
    found = await withOptionalPackages('Stripe', () => inspectProcessor(config, { ...p, webhookUrl }));
  } catch (error) {
    if (!(error instanceof ProcessorError)) throw error;
    return [failed(check, `The processor does not respond as expected. ${outsideFault(error)}`)];
  }
  if (found.key === 'refused') return [failed(check, 'The processor refuses secretKey. Create a new key there.')];
  const { missingPermissions } = found;
  return [
    missingPermissions.length === 0
      ? ok(check, `The key works in mode ${found.mode}, with the permissions that the gateway needs.`)
      : failed(check, `The key lacks permissions: ${missingPermissions.join('; ')}.`),
    webhookOf(`${check}.webhook`, webhookUrl, found),
  ];
}

function webhookOf(check: string, url: string, { webhook, missingEvents }: ProcessorInspection): Finding {
  const slowly = 'Without it, the gateway learns of payments later.';
  switch (webhook) {
    case 'hidden':
      return ok(check, `The key may not list webhook endpoints. Register there: ${url}`);
    case 'missing':
      return warning(check, `No webhook endpoint has the URL ${url}. Register it. ${slowly}`);
    case 'disabled':
      return warning(check, `The webhook endpoint ${url} is disabled. Enable it. ${slowly}`);
    case 'enabled':
      return missingEvents.length === 0
        ? ok(
            check,
            `The webhook endpoint ${url} is enabled. Whether its signing secret is in webhookSecrets shows the first webhook.`,
          )
        : warning(check, `The webhook endpoint ${url} does not receive: ${missingEvents.join(', ')}. ${slowly}`);
  }
}
