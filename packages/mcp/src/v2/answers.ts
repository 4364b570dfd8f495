import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server';
import type { InvalidRequestStateError } from '../errors.ts';
import type { ToolOutcome } from '../run-tool.ts';
import type { ToolAnswer } from '../tool-call.ts';
import { textIn } from '../tool-result.ts';

type InputRequest = NonNullable<Extract<ToolAnswer, { type: 'input_required' }>['request']>;

/** The key of our one input request; keys are unique within one result (MRTR). */
export const INPUT_REQUEST_KEY = 'gate';

/** @throws {UrlElicitationRequiredError} −32042, the SDK's way to answer it */
export function toCallToolResult(outcome: ToolOutcome<CallToolResult>): CallToolResult | InputRequiredResult {
  switch (outcome.type) {
    case 'result':
      return outcome.result;
    case 'plain':
      return outcome.result;
    case 'input_required': {
      const { request, requestState } = outcome;
      if (request === undefined) return inputRequired({ requestState });
      return inputRequired({ inputRequests: { [INPUT_REQUEST_KEY]: toInputRequest(request) }, requestState });
    }
    case 'url_elicitation_required':
      throw new UrlElicitationRequiredError([{ mode: 'url', ...outcome.elicitation }], textIn(outcome.fallback));
    case 'capability_missing':
      return raising(
        new MissingRequiredClientCapabilityError(
          { requiredCapabilities: { elicitation: { url: {} } } },
          outcome.message,
        ),
      );
  }
}

function toInputRequest(request: InputRequest) {
  if (request.mode === 'url') return inputRequired.elicitUrl({ url: request.url, message: request.message });
  const { message } = request;
  // The same schema, but for `readonly`.
  const requestedSchema = request.requestedSchema as Parameters<typeof inputRequired.elicit>[0]['requestedSchema'];
  return inputRequired.elicit({ message, requestedSchema });
}

/** −32602 in the words of the SDK's own `requestState.verify`. The reason stays here. */
export function toRejectedResult(error: InvalidRequestStateError): InputRequiredResult {
  return raising(new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, { reason: error.code }));
}

/**
 * `McpServer` turns whatever a tool handler throws (−32042 excepted) into an `isError` result. A JSON-RPC error can leave
 * only from the step behind it that reads the `inputRequests` of an `input_required` result, so the error waits there.
 * Should the SDK read them earlier one day, the same error ends as an `isError` result: never as an accepted call.
 */
function raising(error: ProtocolError): InputRequiredResult {
  return {
    resultType: 'input_required',
    get inputRequests(): never {
      throw error;
    },
  };
}
