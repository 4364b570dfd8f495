/** The menu of the terminal host: tools of the demo's MCP server, and the prompts for their arguments. */
export interface MenuEntry {
  readonly label: string;
  readonly tool: string;
  /** By name of the argument. */
  readonly questions: Readonly<Record<string, string>>;
}

export const menu: readonly MenuEntry[] = [
  { label: 'list my repositories', tool: 'list_repositories', questions: {} },
  {
    label: 'create an issue',
    tool: 'create_issue',
    questions: { repository: 'Repository (as in the list): ', title: 'Title: ' },
  },
  {
    label: 'delete a repository',
    tool: 'delete_repository',
    questions: { repository: 'Repository (as in the list): ' },
  },
  {
    label: 'buy a book',
    tool: 'buy_book',
    questions: { book: 'Book (small-doors, night-watch, wrong-keys; first-edition needs a passkey): ' },
  },
  { label: 'weather forecast', tool: 'get_forecast', questions: { place: 'Place: ' } },
  { label: 'recommend a book (a form, here)', tool: 'recommend_book', questions: {} },
  { label: 'reserve a locker (a form with a secret, on a page)', tool: 'reserve_locker', questions: {} },
];

/** @returns undefined if the user left an argument empty */
export async function askArguments(
  { questions }: MenuEntry,
  ask: (question: string) => Promise<string | undefined>,
): Promise<Record<string, string> | undefined> {
  const args: Record<string, string> = {};
  for (const [name, question] of Object.entries(questions)) {
    const value = await ask(question);
    if (value === undefined || value === '') return undefined;
    args[name] = value;
  }
  return args;
}
