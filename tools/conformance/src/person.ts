import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';

/**
 * Who opens a URL: the `owner`, whose credentials the call had; a `stranger`, signed in as somebody else; or `anonymous`, a browser
 * without a session. Each tries to complete the interaction.
 */
export type Person = 'owner' | 'stranger' | 'anonymous';

/** `unable`: this person cannot be played here. */
export type Visit = 'done' | 'unable';

export type OpenAs = (person: Person, url: string) => Promise<Visit>;

/** Exit code of an `--open` command that cannot play the person. */
const UNABLE = 77;

/**
 * Runs a command in a shell for each visit. The URL, which the MCP server chose, is in the environment only, so that no shell parses it.
 * @throws with the exit code, if it is neither 0 nor 77, or on the timeout
 */
export function openByCommand(command: string, timeoutMs: number): OpenAs {
  return async (person, url) => {
    const child = spawn(command, {
      shell: true,
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: timeoutMs,
      env: { ...process.env, MCP_CONFORMANCE_URL: url, MCP_CONFORMANCE_PERSON: person },
    });
    await once(child, 'close');
    if (child.exitCode === UNABLE) return 'unable';
    if (child.exitCode !== 0)
      throw new Error(`the --open command ended with ${child.exitCode ?? child.signalCode} as ${person}`);
    return 'done';
  };
}

const who: Readonly<Record<Person, string>> = {
  owner: 'as the user whose credentials the suite has, and complete it',
  stranger: 'in another browser, signed in as another user, and try to complete it',
  anonymous: 'in a private window, without signing in, and try to complete it',
};

/** Prints each URL and waits for a person at the terminal. */
export function openByHand(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): OpenAs {
  return async (person, url) => {
    const terminal = createInterface({ input, output });
    try {
      // A URL of the MCP server must not control the terminal.
      const shown = encodeURI(url).replaceAll('%25', '%');
      const answer = await terminal.question(
        `\nOpen this URL ${who[person]}:\n  ${shown}\nEnter when done, s to skip: `,
      );
      return answer.trim() === '' ? 'done' : 'unable';
    } finally {
      terminal.close();
    }
  };
}
