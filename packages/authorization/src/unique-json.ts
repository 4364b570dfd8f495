/**
 * Parses JSON in which no object has a name twice. RFC 8259 section 4 leaves open which of two equal names counts, and
 * whoever looks at such a text before or after us may take the other one.
 *
 * @throws {SyntaxError} also for a repeated name; the text of the error may quote the input.
 */
export function parseUniqueJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (countMembers(value) !== countColons(text)) throw new SyntaxError('a name is there twice');
  return value;
}

/** Outside of strings, valid JSON has one colon per member as it is written, whether or not the member survives parsing. */
function countColons(json: string): number {
  let colons = 0;
  let inString = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index];
    if (inString && character === '\\') index += 1;
    else if (character === '"') inString = !inString;
    else if (!inString && character === ':') colons += 1;
  }
  return colons;
}

/** Members of all objects. Without recursion, because the sender decides how deep they are nested. */
function countMembers(value: unknown): number {
  const waiting: unknown[] = [value];
  let members = 0;
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== 'object' || node === null) continue;
    const children: unknown[] = Object.values(node);
    if (!Array.isArray(node)) members += children.length;
    for (const child of children) waiting.push(child);
  }
  return members;
}
