# shellcheck shell=bash
# What scripts/demo, scripts/test and .ci/run share. To be sourced with the repository's root as current folder.

die() {
  echo "$1" >&2
  exit 1
}

# install_packages GROUP...: installs those Debian packages of scripts/packages that are missing.
install_packages() {
  local group package why missing=() sudo=()
  while read -r group package why; do
    case " $* " in *" $group "*) ;; *) continue ;; esac
    if [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]]; then
      missing+=("$package")
      ((${#missing[@]} > 1)) || echo "Installing what is missing, with apt-get:"
      echo "  $package ($why)"
    fi
  done < <(grep -v '^#' scripts/packages)
  ((${#missing[@]})) || return 0

  if ! command -v apt-get >/dev/null; then
    echo "  not on this system, which has no apt-get; going on with what is there."
    return 0
  fi
  if ((EUID != 0)); then
    sudo=(sudo -n)
    if ! sudo -n true 2>/dev/null; then
      die "Neither root nor sudo without a password. Please run: apt-get install ${missing[*]}"
    fi
  fi
  local log
  log=$(mktemp)
  if ! { "${sudo[@]}" apt-get -q update &&
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qy --no-install-recommends install "${missing[@]}"; } \
    >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    die "apt-get failed."
  fi
  rm "$log"
}

# use_ccache: where there is one. What is compiled is the same in any folder, but for debuggers.
use_ccache() {
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
  if [[ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ]] && command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
}

# build_preset PRESET: configures and builds; says little unless something fails.
build_preset() {
  use_ccache
  mkdir -p build
  echo "Building preset $1 in build/$1"
  if ! cmake --preset "$1" >"build/$1.log" 2>&1; then
    cat "build/$1.log" >&2
    die "cmake --preset $1 failed."
  fi
  cmake --build --preset "$1" -j "$(nproc)"
}

# build_wheel PYTHON: the package's wheel for that Python, as pip builds it for anyone; into build/python/dist, alone.
# By the compiler's usual name, under which ccache knows what the tests were built of; Python would give a longer one.
build_wheel() {
  local venv=build/python/venv
  use_ccache
  rm -rf build/python/dist
  "$1" -m venv --clear "$venv"
  echo "Building the wheel for $("$1" --version)"
  CXX="${CXX:-c++}" "$venv/bin/python" -m pip wheel -q --disable-pip-version-check --no-deps \
    --config-settings=cmake.define.KOPSE_WERROR=ON \
    -w build/python/dist .
}

# test_wheel: installs it with what its tests need, and runs these, the examples of its docstrings included; files
# side by side.
test_wheel() {
  local venv=build/python/venv wheel
  wheel=$(echo build/python/dist/*.whl)
  "$venv/bin/python" -m pip install -q --disable-pip-version-check "${wheel}[plots,test]"
  "$venv/bin/python" -m pytest -q -n "$(nproc)" --dist loadfile --doctest-modules --pyargs tests/python kopse
}
