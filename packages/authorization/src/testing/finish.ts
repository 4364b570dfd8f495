import type { CallbackRequest, CodeExchangeRequest, Grant, Provider } from '../provider.ts';

/** Validates the callback and exchanges the code, without a same-person check in between. */
export async function finish(
  at: Provider,
  request: CallbackRequest & Omit<CodeExchangeRequest, 'code'>,
): Promise<Grant> {
  const { code } = await at.validateCallback(request);
  return at.exchange({ ...request, code });
}
