import { dirname, join } from 'node:path/posix';
import { parseSync, Visitor, type Argument, type Expression, type Node, type Program } from 'oxc-parser';

/** A regular expression in the sources. A dynamic one has no pattern that reading the sources can tell. */
export type Found = { file: string; line: number; name: string; pattern: string | undefined; flags: string };

type Read = (file: string) => string | undefined;
type Scope = (name: string) => Expression | undefined;

/** Top-level constants of a file, and those that it imports from other files. */
function scopeOf(file: string, program: Program, read: Read): Scope {
  const constants = new Map<string, () => Expression | undefined>();
  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration' && statement.source.value.startsWith('.')) {
      const from = join(dirname(file), statement.source.value);
      for (const one of statement.specifiers) {
        if (one.type !== 'ImportSpecifier' || one.imported.type !== 'Identifier') continue;
        const { name } = one.imported;
        constants.set(one.local.name, () => {
          const text = read(from);
          return text === undefined ? undefined : scopeOf(from, parseSync(from, text).program, read)(name);
        });
      }
    }
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declared?.type !== 'VariableDeclaration' || declared.kind !== 'const') continue;
    for (const { id, init } of declared.declarations)
      if (id.type === 'Identifier' && init) constants.set(id.name, () => init);
  }
  return (name) => constants.get(name)?.();
}

/** The object and the method of `object.method`. */
function member(node: Node): [Node, string] | undefined {
  if (node.type !== 'MemberExpression' || node.property.type !== 'Identifier' || node.computed) return undefined;
  return [node.object, node.property.name];
}

function isMember(node: Node, object: string, name: string): boolean {
  const [of, method] = member(node) ?? [];
  return of?.type === 'Identifier' && of.name === object && method === name;
}

function joined(texts: (string | undefined)[], between = ''): string | undefined {
  return texts.includes(undefined) ? undefined : texts.join(between);
}

/** The text that an expression always has; undefined where the sources do not tell it. */
function constant(node: Expression | Argument | undefined, scope: Scope): string | undefined {
  switch (node?.type) {
    case 'Literal':
      if ('regex' in node) return node.regex.pattern;
      return typeof node.value === 'string' ? node.value : undefined;
    case 'TemplateLiteral':
    case 'TaggedTemplateExpression': {
      const isRaw = node.type === 'TaggedTemplateExpression';
      if (isRaw && !isMember(node.tag, 'String', 'raw')) return undefined;
      const { quasis, expressions } = isRaw ? node.quasi : node;
      const texts = quasis.map(({ value }) => (isRaw ? value.raw : (value.cooked ?? undefined)));
      return joined(texts.flatMap((text, i) => (i === 0 ? [text] : [constant(expressions[i - 1], scope), text])));
    }
    case 'BinaryExpression':
      if (node.operator !== '+') return undefined;
      return joined([constant(node.left, scope), constant(node.right, scope)]);
    case 'Identifier':
      return constant(scope(node.name), scope);
    case 'CallExpression': {
      // Whatever the escaped text is, it matches itself only.
      if (isMember(node.callee, 'RegExp', 'escape')) return 'x';
      const [list, method] = member(node.callee) ?? [];
      const between = constant(node.arguments[0], scope);
      if (list?.type !== 'ArrayExpression' || method !== 'join') return undefined;
      return joined(
        list.elements.map((one) => constant(one ?? undefined, scope)),
        between,
      );
    }
    default:
      return undefined;
  }
}

const isRegExp = (node: Node): boolean =>
  (node.type === 'Identifier' && node.name === 'RegExp') || member(node)?.[1] === 'RegExp';

/** Every regular expression of a file: literals, `RegExp(…)`, patterns of schemas, and those of scripts in texts. */
export function expressionsIn(file: string, text: string, read: Read): Found[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be read: ${errors[0]!.message}`);
  const scope = scopeOf(file, program, read);
  const found: Found[] = [];
  const lineOf = ({ start }: Node) => text.slice(0, start).split('\n').length;
  const add = (node: Node, pattern: string | undefined, flags: string) => {
    const name = pattern === undefined ? text.slice(node.start, node.end).replace(/\s+/g, ' ') : `/${pattern}/${flags}`;
    found.push({ file, line: lineOf(node), name, pattern, flags });
  };
  const made = (node: Node & { callee: Expression; arguments: Argument[] }) => {
    if (!isRegExp(node.callee)) return;
    const [source, second] = node.arguments;
    const literal = source?.type === 'Identifier' ? scope(source.name) : source;
    const flags = second
      ? constant(second, scope)
      : literal?.type === 'Literal' && 'regex' in literal
        ? literal.regex.flags
        : '';
    add(node, flags === undefined ? undefined : constant(source, scope), flags ?? '');
  };
  new Visitor({
    Literal(node) {
      if ('regex' in node) add(node, node.regex.pattern, node.regex.flags);
    },
    NewExpression: made,
    CallExpression: made,
    Property(node) {
      const isPattern = node.key.type === 'Identifier' && node.key.name === 'pattern';
      const pattern = isPattern ? constant(node.value as Expression, scope) : undefined;
      if (pattern !== undefined) add(node, pattern, 'u');
    },
    TemplateLiteral(node) {
      const script = node.expressions.length === 0 ? node.quasis[0]?.value.cooked : undefined;
      if (!script?.startsWith('(function')) return;
      for (const one of expressionsIn(`${file}.js`, script, read))
        found.push({ ...one, file, line: one.line + lineOf(node) - 1 });
    },
  }).visit(program);
  return found;
}
