/**
 * Pages for people: the dashboard, the API reference, and the files that both are made of. The files
 * are the program's own and tell nothing of this server, so that a browser may load them before it has
 * a key; what the pages show they fetch from the API with it.
 */
import { createHash } from "node:crypto";
import { GanglionError } from "../../base/errors.ts";
import type { Answer } from "../answer.ts";
import type { AppDeps, Context, WebFile } from "../context.ts";

/** No script, style or address but this server's own, nothing inline, and no text becomes markup. */
const POLICY = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const PAGES: Readonly<Record<string, string>> = { "/": "index.html", "/docs": "docs.html" };

type Deps = Pick<AppDeps, "webFiles">;

export function pageRoutes({ webFiles = [] }: Deps) {
  const files = new Map(webFiles.map((file) => [file.name, { ...file, tag: tagOf(file) }]));

  function answer(c: Context, name: string, status: 200 | 401 = 200): Answer {
    const file = files.get(name);
    if (file === undefined) {
      throw new GanglionError("not_found", `There is nothing at ${c.req.path.slice(0, 200)}`);
    }
    const headers = {
      "content-type": file.type,
      "content-security-policy": POLICY,
      // Asked for again each time, so that a new server's page never runs an old one's script.
      "cache-control": "no-cache",
      "etag": file.tag,
    };
    if (status === 200 && c.req.header("if-none-match") === file.tag) {
      return { status: 304, headers, body: null };
    }
    return { status, headers, body: file.bytes };
  }

  return {
    page: (c: Context) => answer(c, PAGES[c.req.path]!),
    file: (c: Context) => answer(c, c.req.param("file")!),

    /**
     * What a browser without a key gets for a page: 401, and the page itself, which asks for the key.
     * Null for everybody else.
     */
    signIn(c: Context): Answer | null {
      const name = PAGES[c.req.path];
      const wantsPage = /\btext\/html\b/i.test(c.req.header("accept") ?? "");
      if (name === undefined || !files.has(name) || c.req.method !== "GET" || !wantsPage) {
        return null;
      }
      return answer(c, name, 401);
    },
  };
}

const tagOf = ({ bytes }: WebFile): string =>
  `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
