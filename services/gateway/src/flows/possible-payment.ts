import type { PaymentRequest } from '@postern/elicitation';
import type { PaymentProcessor } from '@postern/payment';
import { ProblemError } from '../http/problem-error.ts';
import { mayAsk, type RegisteredMcpServer } from '../registered-mcp-server.ts';

/**
 * Refuses at issue a payment that its processor could only refuse after the person has approved it. The domain refuses a payment
 * outside the policy of the MCP server, with codes of its own.
 *
 * @throws ProblemError `payment_not_possible`, which names the member at fault
 */
export function assertPossiblePayment(
  request: PaymentRequest,
  mcpServer: RegisteredMcpServer,
  processors: ReadonlyMap<string, Pick<PaymentProcessor, 'canTake'>>,
): void {
  if (!mayAsk(mcpServer, request)) return;
  const answer = processors.get(request.processor)?.canTake(request.terms);
  if (answer?.result !== 'impossible') return;
  const { member, message } = answer;
  throw new ProblemError('payment_not_possible', { errors: [{ path: `body.payment.${member}`, message }] });
}
