"""The pages on which a person logs in, and lets a program in that waits for it."""

from __future__ import annotations

from catalog.device_logins import DeviceLogin
from repo_server.pages.frame import Frame
from repo_server.pages.templates import render
from repo_server.sessions import Session


def login_page(session: Session, frame: Frame, *, external: str | None, onward: str, failed: bool = False) -> str:
    """Who is logged in, or else the ways to do so, with the path to go ``onward`` to; ``external`` names an issuer."""
    account = None if session.account is None else str(session.account.name)
    values = {
        "account": account,
        "csrf_token": session.csrf_token,
        "onward": onward,
        "failed": failed,
        "external": external,
    }
    return render("login.html", frame=frame, **values)


def device_page(session: Session, frame: Frame, code: str, waiting: DeviceLogin) -> str:
    """Who asks to act for the person, with the choice."""
    account = "" if session.account is None else str(session.account.name)
    values = {"account": account, "csrf_token": session.csrf_token, "code": code, "waiting": waiting}
    return render("device.html", frame=frame, **values)


def told_page(frame: Frame, title: str, text: str) -> str:
    """One sentence."""
    return render("told.html", frame=frame, title=title, text=text)
