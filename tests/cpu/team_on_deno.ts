/** `compareTeam` on Deno; silent when it holds. */
import { compareTeam } from "./team_rows.ts";

await compareTeam(60);
