import type { Capability } from '../capabilities.ts';

/** One card of the page: a tool call, and what to watch for. */
export interface TryItStory {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, string>>;
  readonly needs?: Capability;
}

export const tryItStories: readonly TryItStory[] = [
  {
    id: 'connect',
    title: 'Connect an account',
    text: 'A tool lists your repositories at Code Forge. Connect alice-codes, and try it again: the second call does not ask.',
    tool: 'list_repositories',
    args: {},
  },
  {
    id: 'payment',
    title: 'Approve a payment',
    text: 'A tool buys a book for €12.50. One button approves it, and the shop charges once.',
    tool: 'buy_book',
    args: { book: 'small-doors' },
  },
  {
    id: 'large-payment',
    title: 'Approve a large payment',
    text: 'A first edition for €240.00 is too much for a button. It takes a passkey of this device.',
    tool: 'buy_book',
    args: { book: 'first-edition' },
  },
  {
    id: 'confirmation',
    title: 'Confirm a deletion',
    text: 'A tool deletes a repository. It needs your confirmation first, and then a permission: two links.',
    tool: 'delete_repository',
    args: { repository: 'alice-codes/tiny-parser' },
  },
  {
    id: 'api-key',
    title: 'Hand over an API key',
    text: 'A tool needs your key of Weather Station. Postern tries the key before it keeps it.',
    tool: 'get_forecast',
    args: { place: 'Lisbon' },
  },
  {
    id: 'form',
    title: 'Fill in a form',
    text: 'A tool reserves a locker. The form has a secret code, so it is a page and not a question in the chat.',
    tool: 'reserve_locker',
    args: {},
  },
  {
    id: 'wrong-person',
    title: 'Be the wrong person',
    text: 'Open the link of this payment in a private window and sign in as Bob. He sees nothing of it. Then open it here.',
    tool: 'buy_book',
    args: { book: 'night-watch' },
    needs: 'identity_login',
  },
];
